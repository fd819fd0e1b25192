"""What a reproduction looks like: on a terminal, as JSON, Markdown, LaTeX and HTML."""
