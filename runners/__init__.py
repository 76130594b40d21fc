"""How it runs: detectors, images, class vectors, passes, campaigns and their ledger."""
