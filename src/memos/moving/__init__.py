"""Moving in and out: what other systems kept is read from their files and stored here, and what is here is written out."""
