// `shardsim tour`: the headline results, for someone who has just built it.
#pragma once

namespace shardsim {

void tour_command();

}  // namespace shardsim
