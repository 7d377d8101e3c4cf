"""Makes the site of the documentation: what mkdocs.yml calls."""
