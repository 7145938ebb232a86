"""What is installed, under which licences and with which hashes: `limbeck sbom`."""
