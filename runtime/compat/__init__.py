"""Support for code written for MXNet that is not a module of MXNet itself."""
