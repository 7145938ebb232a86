"""`limbeck bench`: models timed side by side, from text to label; the base install is enough for all but a teacher."""
