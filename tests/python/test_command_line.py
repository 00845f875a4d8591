"""The static binary, as Python finds it."""


def test_the_binary_says_which_it_is(thrashlab):
    answer = thrashlab("--version")
    assert answer.returncode == 0
    assert answer.stdout.startswith("thrashlab ")
