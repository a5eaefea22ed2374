"""`fit` on texts: steps with global means, epochs, and the search for a rate."""
