"""People rate texts on scales. Ratings of samples measure the accuracy of the gender rules and of the pair filter."""
