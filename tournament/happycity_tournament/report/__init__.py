"""A tournament for reading elsewhere: the HTML report and exports."""
