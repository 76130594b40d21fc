"""How it runs: detectors, class vectors, images, passes and campaigns."""
