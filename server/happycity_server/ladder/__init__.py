"""The ladder that this server keeps."""
