"""What a message says about its author and about how they want to be answered: rules, and a small model beside them."""
