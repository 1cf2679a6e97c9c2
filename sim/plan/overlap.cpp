#include "plan/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/must.h"

namespace shardsim {
namespace {

constexpr std::array kRules = {FsdpRule{.name = "fsdp1",
                                        .frees_at_end = true,
                                        .one_scatter = false,
                                        .deepest = 2,
                                        .deeper = "forward_prefetch asks"},
                               FsdpRule{.name = "fsdp2",
                                        .frees_at_end = false,
                                        .one_scatter = true,
                                        .deepest = 0,
                                        .deeper = "prefetch lists ask"}};

struct FormRow {
  std::string_view name;
  TileForm form;
};
constexpr std::array kForms = {FormRow{"two-stage", TileForm::two_stage},
                               FormRow{"ring", TileForm::ring},
                               FormRow{"ring-two-way", TileForm::ring_two_way}};

// The mesh axes that "X" or "X,Y" names.
std::vector<std::string> axes_of(std::string_view communicator) {
  std::vector<std::string> axes(1);
  for (const char c : communicator) {
    if (c == ',') {
      axes.emplace_back();
    } else if (c != ' ') {
      axes.back() += c;
    }
  }
  return axes;
}

}  // namespace

std::span<const FsdpRule> fsdp_rules() {
  return kRules;
}

double Overlap::share_of(std::string_view communicator) const {
  for (const auto& [name, share] : sm_share)
    if (name == communicator) return share;
  return 0;
}

std::uint32_t Overlap::number_of(std::string_view communicator) const {
  const auto at = std::find_if(sm_share.begin(), sm_share.end(),
                               [&](const auto& entry) { return entry.first == communicator; });
  must(at != sm_share.end(), "only communicators with a share are counted");
  return static_cast<std::uint32_t>(at - sm_share.begin());
}

bool Overlap::any() const {
  return prefetch > 0 || gradients || updates || tiles > 0 || ring_attention;
}

Overlap make_overlap(const RunSpec& spec, const Mesh& mesh, std::vector<Problem>& problems) {
  const OverlapSpec& asked = spec.overlap;
  Overlap made;
  made.prefetch = asked.fsdp_prefetch.value;
  const std::string rule = asked.fsdp.given ? asked.fsdp.value : "fsdp2";
  const auto row =
      std::find_if(kRules.begin(), kRules.end(), [&](const FsdpRule& r) { return r.name == rule; });
  must(row != kRules.end(), "the reader knows the rules of FSDP");
  made.fsdp = &*row;
  made.backward_pre = asked.backward_prefetch.value != "post";
  made.gradients = asked.gradients.value;
  made.bucket = asked.bucket.value;
  made.updates = asked.updates.value;
  made.tiles = asked.collective_matmul.value;
  made.ring_attention = asked.ring_attention.value;
  for (const FormRow& form : kForms)
    if (form.name == asked.collective_matmul_form.value) made.form = form.form;
  const auto needs = [&](const SourcePos& pos, bool there, std::string_view what,
                         std::string_view key, std::string_view hint) {
    if (there) return;
    problems.push_back({pos, fmt::format("{} needs {}", what, key), std::string(hint)});
  };
  if (asked.fsdp.given && made.prefetch == 0) {
    needs(asked.fsdp.pos, false, "overlap.fsdp", "overlap.fsdp_prefetch of 1 or more",
          "write fsdp_prefetch: 1, or leave fsdp out");
  }
  if (row->deepest > 0 && made.prefetch > row->deepest) {
    problems.push_back(
        {asked.fsdp_prefetch.pos,
         fmt::format("overlap.fsdp_prefetch: expected at most {} by the rules of {}, found {}",
                     row->deepest, row->name, made.prefetch),
         "1 gathers the next layer, 2 one more as with forward_prefetch=True; the limiter of FSDP1 "
         "stops there, lists of modules in fsdp2 go further"});
  }
  if (asked.backward_prefetch.given) {
    needs(asked.backward_prefetch.pos, made.prefetch > 0, "overlap.backward_prefetch",
          "overlap.fsdp_prefetch of 1 or more", "write fsdp_prefetch: 1");
    if (made.fsdp->name == "fsdp2" && !made.backward_pre) {
      problems.push_back({asked.backward_prefetch.pos,
                          "backward_prefetch: post contradicts fsdp: fsdp2, which always gathers "
                          "before the gradients of a layer",
                          "write fsdp: fsdp1"});
    }
  }
  if (asked.bucket.given) {
    needs(asked.bucket.pos, made.gradients, "overlap.bucket", "overlap.gradients: true",
          "write gradients: true");
  }
  if (made.tiles == 1) {
    problems.push_back({asked.collective_matmul.pos,
                        "overlap.collective_matmul: expected 0, or 2 tiles or more, found 1",
                        "one tile is the whole product, beside which nothing moves"});
  }
  if (asked.collective_matmul_form.given) {
    needs(asked.collective_matmul_form.pos, made.tiles > 0, "overlap.collective_matmul_form",
          "overlap.collective_matmul of 2 or more", "");
  }
  for (const auto& [written, share] : asked.sm_share) {
    Chosen<std::string> communicator = written;
    if (spec.schedule.given && communicator.value == spec.schedule.axis.value)
      communicator.value = "pipeline";
    if (communicator.value != "pipeline") {
      for (const std::string& axis : axes_of(communicator.value)) {
        if (mesh.find(axis) != nullptr) continue;
        std::vector<std::string> names = mesh.names();
        names.emplace_back("pipeline");
        problems.push_back(
            {communicator.pos,
             fmt::format("overlap.sm_share: expected a mesh axis, found \"{}\"", axis),
             suggestion(axis, names)});
      }
    }
    made.sm_share.emplace_back(fmt::format("{}", fmt::join(axes_of(communicator.value), ",")),
                               share);
  }
  double taken = 0;
  for (const auto& [communicator, share] : made.sm_share) taken += share;
  if (taken >= 1 && !asked.sm_share.empty()) {
    problems.push_back({asked.sm_share.back().first.pos,
                        fmt::format("overlap.sm_share: expected shares that sum to less than 1, "
                                    "found {:.3g}",
                                    taken),
                        "communicators may run at once, and some of the chip must be left to "
                        "compute"});
  }
  return made;
}

Optimizer make_optimizer(const OptimizerSpec& spec, bool whole, double state_bytes,
                         std::vector<Problem>& problems) {
  Optimizer made;
  made.state = 3 * state_bytes;
  made.runs = spec.kind.given ? spec.kind.value == "adam" : whole;
  if (spec.bytes.given && spec.bytes.value != 16 && spec.bytes.value != 10) {
    problems.push_back(
        {spec.bytes.pos,
         fmt::format("optimizer.bytes: expected 16 or 10, found {}", spec.bytes.value),
         "16 keeps master weights and gradients, 10 does not"});
  }
  if (spec.bytes.given && spec.bytes.value == 10) {
    made.state = 2 * state_bytes;
    made.gradients = false;
  }
  if (spec.kind.given && spec.kind.value == "none") made.state = 0;
  return made;
}

std::vector<std::string> overlap_texts(const Overlap& overlap) {
  std::vector<std::string> said;
  if (!overlap.any()) said.emplace_back("nothing overlaps: every collective is exposed");
  if (overlap.prefetch > 0) {
    said.push_back(fmt::format(
        "weights of {} layer{} are gathered ahead by the rules of {}{}{}", overlap.prefetch,
        overlap.prefetch == 1 ? "" : "s", overlap.fsdp->name,
        overlap.prefetch == 1
            ? ""
            : fmt::format(", as {} for: {} whole layers may be there at once", overlap.fsdp->deeper,
                          std::int64_t{overlap.prefetch} + (overlap.fsdp->frees_at_end ? 1 : 2)),
        overlap.backward_pre ? "" : ", in the backward pass after the gradients of a layer"));
  }
  if (overlap.gradients) {
    said.push_back(overlap.bucket > Bytes{}
                       ? fmt::format("gradients are reduced beside the backward pass, in buckets "
                                     "of {}",
                                     to_text(overlap.bucket))
                       : "gradients are reduced beside the backward pass, a layer at a time");
  }
  if (overlap.updates) {
    said.emplace_back("updated weights are gathered layer by layer, beside the optimizer");
  }
  if (overlap.tiles > 0) {
    said.push_back(
        overlap.form == TileForm::two_stage
            ? fmt::format("products and their collectives run in {} tiles, each a collective",
                          overlap.tiles)
            : fmt::format("products and their gathers or scatters run in one tile for each device, "
                          "which come {} round the group, where it is one ring or switch",
                          overlap.form == TileForm::ring ? "one way" : "both ways"));
  }
  if (overlap.ring_attention) {
    said.emplace_back(
        "keys and values go round the devices that cut the sequence, beside the attention to those "
        "at hand; their memory is counted as if gathered");
  }
  for (const auto& [communicator, share] : overlap.sm_share) {
    const std::string what = communicator == "pipeline" ? "transfers of the pipeline"
                                                        : "collectives over " + communicator;
    said.push_back(
        fmt::format("while {} run, compute has {:.3g} % less of a device", what, 100 * share));
  }
  return said;
}

}  // namespace shardsim
