"""A language model behind an address as the teacher: questions, answers, connections, money, batch files."""
