"""What the product knows of language: terms, sentences, which script. Pure and total on any str."""
