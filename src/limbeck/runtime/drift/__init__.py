"""Whether texts and answers have changed since a model was made: `limbeck drift`."""
