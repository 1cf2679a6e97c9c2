// The plan of a statement against brute force: every pair of layouts that the operands can be
// multiplied in, priced with the same reshards and the same roofline, is never cheaper than the
// plan taken. The layouts are enumerated here, not by the planner.
#include <functional>
#include <optional>

#include "plan/einsum.h"
#include "sharding.h"

namespace shardsim {
namespace {

using testing::batch;
using testing::mesh;
using testing::model;
using testing::torus_pricing;

using Names = std::vector<std::string>;

// All layouts of an array over some axes, in every order of the axes of a dim.
std::vector<Sharding> layouts_of(const Names& dims, const Names& axes) {
  std::vector<Sharding> all = {whole(dims)};
  for (const std::string& axis : axes) {
    const std::vector<Sharding> shorter = all;
    for (const Sharding& layout : shorter) {
      for (std::size_t d = 0; d < dims.size(); ++d) {
        for (std::size_t at = 0; at <= layout.dims[d].axes.size(); ++at) {
          all.push_back(layout);
          Names& cut = all.back().dims[d].axes;
          cut.insert(cut.begin() + static_cast<std::ptrdiff_t>(at), axis);
        }
      }
    }
  }
  return all;
}

struct Question {
  Layer layer;
  std::array<Names, 3> dims;  // of A, B2 and C
  std::array<Sharding, 3> layouts;
  bool idle = false;  // axes that none of them uses may be used

  ReshardFreedom freedom() const { return idle ? ReshardFreedom::any : ReshardFreedom::used_axes; }
};

bool in_list(const Names& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Dims of both are cut alike, and an axis cuts no other dim of the second than of the first.
bool fit(const Sharding& a, const Sharding& b, const Names& axes) {
  for (const DimLayout& dim : a.dims) {
    const DimLayout* other = b.find(dim.dim);
    if (other != nullptr && other->axes != dim.axes) return false;
  }
  return std::all_of(axes.begin(), axes.end(), [&](const std::string& axis) {
    const std::string *x = a.dim_of_axis(axis), *y = b.dim_of_axis(axis);
    return x == nullptr || y == nullptr || *x == *y;
  });
}

bool uses(const Question& q, const std::string& axis) {
  return std::any_of(q.layouts.begin(), q.layouts.end(),
                     [&](const Sharding& layout) { return layout.dim_of_axis(axis) != nullptr; });
}

// Axes that none of the three arrays uses are not used, unless they are asked for.
bool in_scope(const Question& q, const Sharding& a, const Sharding& b, const std::string& axis) {
  return q.idle || uses(q, axis) ||
         (a.dim_of_axis(axis) == nullptr && b.dim_of_axis(axis) == nullptr);
}

class Oracle {
 public:
  Oracle(const Question& q, PriceBook& pricing) : q_(q), pricing_(pricing) {}

  Seconds price(const Sharding& a, const Sharding& b) {
    ShardedStatement step;
    step.operands = {a, b};
    step.out = einsum_output(pricing_.mesh(), a, b, q_.dims[2]);
    StepWork work;
    work.element_bytes = {2, 2, 2};
    add_work(q_.layer, pricing_.mesh(), work, step);
    return moved("A", q_.layouts[0], a) + moved("B2", q_.layouts[1], b) +
           moved("C", step.out, q_.layouts[2]) + cost(step, pricing_.rates());
  }

  // The least over all pairs.
  Seconds least(std::string& how) {
    const Names axes = pricing_.mesh().names();
    std::optional<Seconds> best;
    for (const Sharding& a : layouts_of(q_.dims[0], axes)) {
      for (const Sharding& b : layouts_of(q_.dims[1], axes)) {
        if (!fit(a, b, axes)) continue;
        const bool counts = std::all_of(axes.begin(), axes.end(), [&](const std::string& axis) {
          return in_scope(q_, a, b, axis);
        });
        if (!counts) continue;
        const Seconds now = price(a, b);
        if (best && *best <= now) continue;
        best = now;
        how = to_text(a) + " * " + to_text(b);
      }
    }
    return *best;
  }

 private:
  Seconds moved(const std::string& name, const Sharding& from, const Sharding& to) {
    const auto [at, fresh] = known_.try_emplace(name + to_text(from) + to_text(to));
    if (fresh) {
      at->second = reshard(q_.layer, pricing_, {name, 2}, from, to, q_.freedom()).price;
    }
    return at->second;
  }

  const Question& q_;
  PriceBook& pricing_;
  std::map<std::string, Seconds> known_;
};

EinsumPlan plan_of(const Question& q, PriceBook& pricing) {
  Einsum einsum;
  einsum.in[0].array = {"A", 2};
  einsum.in[0].layout = q.layouts[0];
  einsum.in[1].array = {"B2", 2};
  einsum.in[1].layout = q.layouts[1];
  einsum.out = {"C", 2};
  einsum.out_dims = q.dims[2];
  einsum.wish = &q.layouts[2];
  einsum.freedom = einsum.in[0].freedom = einsum.in[1].freedom = q.freedom();
  return plan_einsum(q.layer, pricing, einsum);
}

struct Form {
  const char* text;
  std::array<Names, 3> dims;
};
const std::vector<Form> kForms = {
    {"C[I,K] = A[I,J] * B2[J,K]", {{{"I", "J"}, {"J", "K"}, {"I", "K"}}}},
    {"C[G,I,K] = A[G,I,J] * B2[G,J,K]", {{{"G", "I", "J"}, {"G", "J", "K"}, {"G", "I", "K"}}}},
    {"C[I] = A[I,J] * B2[J]", {{{"I", "J"}, {"J"}, {"I"}}}},
};

// With an idle axis if idle ones may be used.
Question random_question(std::mt19937& random, const Mesh& m, bool idle) {
  const Form& form = kForms[random() % kForms.size()];
  const int sizes[] = {6, 16, 64, 512, 4096};
  std::vector<std::pair<std::string, int>> dims;
  for (const char* dim : {"G", "I", "J", "K"}) {
    const bool used = std::any_of(form.dims.begin(), form.dims.end(),
                                  [&](const Names& names) { return in_list(names, dim); });
    if (used) dims.emplace_back(dim, sizes[random() % std::size(sizes)]);
  }
  std::vector<Problem> problems;
  Question q{make_layer(model({form.text}, dims), batch(1, 1), 1, problems), form.dims, {}};
  REQUIRE(problems.empty());
  q.idle = idle;
  Names axes = m.names();
  if (idle) axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(random() % axes.size()));
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<Sharding> all = layouts_of(form.dims[i], axes);
    q.layouts[i] = all[random() % all.size()];
  }
  return q;
}

void never_beaten(const Question& q, PriceBook& pricing) {
  Oracle oracle(q, pricing);
  std::string how;
  const Seconds least = oracle.least(how);
  const EinsumPlan plan = plan_of(q, pricing);
  const Seconds taken = oracle.price(plan.operands[0], plan.operands[1]);
  std::string sizes;
  for (const NamedDim& dim : q.layer.dims) sizes += dim.name + "=" + std::to_string(dim.size) + " ";
  CAPTURE(sizes);
  const std::string asked =
      to_text(q.layouts[2]) + " = " + to_text(q.layouts[0]) + " * " + to_text(q.layouts[1]);
  CAPTURE(asked);
  CAPTURE(how);
  CAPTURE(plan.plans[0].text);
  CHECK(taken.v <= least.v * (1 + 1e-9));
  CHECK(taken.v >= least.v * (1 - 1e-9));  // the oracle tries it, too
}

void never_beaten(const Mesh& m, int questions, bool idle = false) {
  PriceBook pricing = torus_pricing(m);
  std::mt19937 random(7);
  for (int n = 0; n < questions; ++n) never_beaten(random_question(random, m, idle), pricing);
}

TEST_CASE("no operand layouts are cheaper than the plan taken: one axis of 8") {
  never_beaten(mesh({{"X", 8}}), 400);
}

TEST_CASE("no operand layouts are cheaper than the plan taken: a torus of 4 x 2") {
  never_beaten(mesh({{"X", 4}, {"Y", 2}}), 150);
}

TEST_CASE("no operand layouts are cheaper than the plan taken: idle axes that may be used") {
  never_beaten(mesh({{"X", 4}, {"Y", 2}}), 150, true);
  never_beaten(mesh({{"X", 8}}), 50, true);
}

// What is not taken because axes are left idle is what is taken when they need not be.
TEST_CASE("a cheaper plan over idle axes is listed, or taken on request") {
  const Mesh m = mesh({{"X", 4}, {"Y", 2}});
  PriceBook pricing = torus_pricing(m);
  std::mt19937 random(7);
  int cheaper = 0;
  for (int n = 0; n < 100; ++n) {
    Question q = random_question(random, m, true);
    const PricedPlan asked = plan_of(q, pricing).plans[0];
    q.idle = false;
    const EinsumPlan plan = plan_of(q, pricing);
    const auto listed = std::find_if(plan.plans.begin(), plan.plans.end(), [](const PricedPlan& p) {
      return p.verdict.find("leaves idle (idle_axes: use takes it)") != std::string::npos;
    });
    CAPTURE(asked.text);
    CAPTURE(plan.plans[0].text);
    if (listed == plan.plans.end()) {
      CHECK(asked.communication.v >= plan.plans[0].communication.v * (1 - 1e-9));
      continue;
    }
    ++cheaper;
    CHECK(listed->text == asked.text);
    CHECK(listed->communication == asked.communication);
    CHECK(listed->flops == asked.flops);
    const auto price = [](const PricedPlan& p) { return p.communication + p.extra_compute; };
    CHECK(price(*listed) < price(plan.plans[0]));
  }
  CHECK(cheaper > 10);
  CHECK(cheaper < 100);
}

TEST_CASE("no operand layouts are cheaper than the plan taken: other rows of the contracted dim") {
  const Mesh m = mesh({{"X", 4}, {"Y", 2}});
  PriceBook pricing = torus_pricing(m);
  struct Row {
    Names a, b;  // axes of J in A and in B2
  };
  const std::vector<Row> rows = {
      {{"Y", "X"}, {"X"}}, {{"X"}, {"Y", "X"}}, {{"Y", "X"}, {"X", "Y"}}, {{"X", "Y"}, {"X"}}};
  const Form& form = kForms[0];
  for (const Row& row : rows) {
    for (const int k : {8, 512, 8192}) {
      std::vector<Problem> problems;
      const Question q{make_layer(model({form.text}, {{"I", 512}, {"J", 512}, {"K", k}}),
                                  batch(1, 1), 1, problems),
                       form.dims,
                       {{{{{"I", {}}, {"J", row.a}}, {}},
                         {{{"J", row.b}, {"K", {}}}, {}},
                         {{{"I", {}}, {"K", {}}}, {}}}}};
      REQUIRE(problems.empty());
      never_beaten(q, pricing);
      if (k < 8192) continue;
      // C is 16 times A and B2 is 16 times A: reducing C costs more than gathering both.
      const std::vector<std::string> sums = plan_of(q, pricing).out.unreduced;
      CHECK_FALSE(in_list(sums, "X"));
    }
  }
}

TEST_CASE("no operand layouts are cheaper than the plan taken: three axes of 2") {
  never_beaten(mesh({{"X", 2}, {"Y", 2}, {"Z", 2}}), 40);
}

}  // namespace
}  // namespace shardsim
