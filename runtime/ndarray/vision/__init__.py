"""Operators on images and bounding boxes."""
