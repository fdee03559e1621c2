"""What the runtime stands on: array memory, element types, files, random numbers, and the bridge to optgen."""
