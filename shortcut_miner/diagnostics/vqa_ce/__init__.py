"""VQA-CE: counterexample, easy and hard splits (Dancette et al., ICCV 2021). See README.md."""
