"""The terms of an objective: each computes one loss of the recipe from the outputs of student and teacher."""
