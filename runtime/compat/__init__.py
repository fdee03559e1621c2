"""What lets code written for MXNet run, and is no module of MXNet."""
