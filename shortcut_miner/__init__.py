"""Mine multimodal shortcuts from VQA data and build the datasets that expose them."""

__version__ = "0.1.0"
