"""What the documentation says is run, compared and kept true here.

`scripts/docs` writes the parts that the program itself produces; the tests fail when a part is no
longer what the program would produce now.
"""
