"""All outputs of results: terminal tables, HTML reports, figures, comparisons, and exports to other tools."""
