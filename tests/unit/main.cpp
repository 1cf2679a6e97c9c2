// The one main of the unit tests. A replay forks: its child ends by _exit, so doctest's summary is
// printed once, by the parent.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

int main(int argc, char** argv) {
  return doctest::Context(argc, argv).run();
}
