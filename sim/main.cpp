// Exit status: 0 done; 1 the machine refused; 2 the input is wrong; 3 a check failed; 130
// interrupted.

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "base/allocation.h"
#include "base/check_failed.h"
#include "base/file.h"
#include "base/problem.h"
#include "command/command_line.h"

int main(int argc, char** argv) {
  shardsim::set_up_memory();
  try {
    shardsim::catch_interrupts();
    shardsim::do_command(std::vector<std::string>(argv + 1, argv + argc));
    return 0;
  } catch (const shardsim::UsageError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const shardsim::ConfigError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const shardsim::CheckFailed& error) {
    std::fprintf(stderr, "shardsim: %s\n", error.what());
    return 3;
  } catch (const shardsim::Interrupted& error) {
    std::fprintf(stderr, "shardsim: %s\n", error.what());
    return 130;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "shardsim: out of memory; fold (without --full) or use --grain fluid\n");
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shardsim: %s\n", error.what());
    return 1;
  }
}
