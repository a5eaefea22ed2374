"""`python -m zoo` is the command `zoo`."""

from zoo.commands.main import main

if __name__ == "__main__":
    main()
