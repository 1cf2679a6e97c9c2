// The one main of the unit tests. A replay forks: its child ends by _exit, so doctest's summary is
// printed once, by the parent.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "replay/engine_process.h"

int main(int argc, char** argv) {
  int status = 1;
  shardsim::with_engine_ready([&] { status = doctest::Context(argc, argv).run(); });
  return status;
}
