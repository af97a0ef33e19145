"""The part of the memory log that tells what changes of the profile and of preferences have marked."""
