#include "command/tornado.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/file.h"
#include "base/progress.h"
#include "command/arguments.h"
#include "command/hardware.h"
#include "command/run.h"
#include "report/reports.h"
#include "report/table_parts.h"
#include "spec/load.h"

namespace shardsim {

namespace {

// The run with one figure changed, or with none.
struct Outcome {
  Seconds step;
  std::optional<Bytes> memory_left;
};

struct Varied {
  HardwareFigure figure;
  std::array<Outcome, 2> outcome;  // with less and with more of it

  Seconds swing() const {
    const Seconds difference = outcome[0].step - outcome[1].step;
    return difference < Seconds{} ? -1 * difference : difference;
  }
};

struct Tornado {
  std::string name;
  double share = 0;  // 0.1: less is 0.9 of a figure, more 1.1
  Outcome base;
  std::vector<Varied> figures;  // most effect first
};

double share_of(const std::string& text, std::vector<Problem>& problems) {
  constexpr double kMost = 99;  // a figure must stay above zero
  const std::string_view number = std::string_view(text).substr(0, text.find_last_not_of(" %") + 1);
  const Parsed<double> percent = parse_factor(number, 0, kMost);
  if (text.ends_with('%') && percent) return percent.value / 100;
  problems.push_back({argument_pos("--by", text),
                      fmt::format("expected a share up to {:.0f} % such as 10%, found \"{}\"",
                                  kMost, printable(text)),
                      ""});
  return 0;
}

Outcome outcome_of(const RunSpec& spec, const Simulation& how) {
  throw_if_interrupted();
  const Metrics metrics = measure(simulate(spec, prepare(spec), how));
  return {metrics.step, metrics.memory_left};
}

Tornado make_tornado(const TornadoArguments& args) {
  std::vector<Problem> problems;
  require_format(args.format, problems);
  Simulation how;
  how.engine = engine_named(args.engine, problems);
  how.lowering = {grain_named(args.grain, problems), args.full};
  Tornado result;
  result.share = share_of(args.by, problems);
  throw_if_any(problems);
  std::vector<Override> overrides;
  for (const std::string& text : args.set) overrides.push_back({text});
  const RunSpec spec = load_run(args.file, overrides, cluster_problems);
  const std::vector<HardwareFigure> figures = hardware_figures(spec);
  result.name = spec.name.value;
  Progress progress("replays", 1 + 2 * figures.size(), args.quiet);
  std::uint64_t done = 0;
  result.base = outcome_of(spec, how);
  for (const HardwareFigure& figure : figures) {
    Varied& varied = result.figures.emplace_back(Varied{figure, {}});
    for (std::size_t more = 0; more < 2; ++more) {
      progress.at(++done);
      RunSpec changed = spec;
      figure.scale(changed, more == 1 ? 1 + result.share : 1 - result.share);
      varied.outcome[more] = outcome_of(changed, how);
    }
  }
  std::stable_sort(result.figures.begin(), result.figures.end(),
                   [](const Varied& a, const Varied& b) { return a.swing() > b.swing(); });
  return result;
}

double change(const Outcome& outcome, const Outcome& base) {
  return base.step == Seconds{} ? 0 : outcome.step / base.step - 1;
}

double largest_change(const Tornado& tornado) {
  double largest = 0;
  for (const Varied& varied : tornado.figures)
    for (const Outcome& outcome : varied.outcome)
      largest = std::max(largest, std::fabs(change(outcome, tornado.base)));
  return largest;
}

// "   +++|----  ": left of the line the step is shorter.
std::string bar(const Varied& varied, const Tornado& tornado, double largest) {
  constexpr int kHalf = 10;
  std::string left(kHalf, ' '), right(kHalf, ' ');
  for (std::size_t more = 0; more < 2; ++more) {
    const double part = change(varied.outcome[more], tornado.base);
    const auto length =
        largest == 0 ? 0 : static_cast<std::size_t>(std::lround(kHalf * std::fabs(part) / largest));
    const char mark = more == 1 ? '+' : '-';
    if (part < 0) {
      left.replace(kHalf - length, length, length, mark);
    } else {
      right.replace(0, length, length, mark);
    }
  }
  return left + "|" + right;
}

std::string change_text(const Outcome& outcome, const Outcome& base) {
  if (outcome.step == base.step) return "=";
  return fmt::format("{:+.3g} %", 100 * change(outcome, base));
}

bool fits(const Outcome& outcome) {
  return !outcome.memory_left || *outcome.memory_left >= Bytes{};
}

// What varying one figure does to whether the run fits: "no longer fits with less".
std::string memory_text(const Tornado& tornado) {
  std::string text;
  for (const Varied& varied : tornado.figures) {
    for (std::size_t more = 0; more < 2; ++more) {
      if (fits(varied.outcome[more]) == fits(tornado.base)) continue;
      text += fmt::format("{} of {}: the run {}\n", more == 1 ? "more" : "less", varied.figure.name,
                          fits(tornado.base) ? "no longer fits" : "fits");
    }
  }
  return text;
}

std::string tornado_text(const Tornado& tornado) {
  const std::string share = fmt::format("{:.4g} %", 100 * tornado.share);
  Rows rows = {{"figure", "is", "   shorter|longer", "-" + share, "+" + share}};
  const double largest = largest_change(tornado);
  for (const Varied& varied : tornado.figures) {
    rows.push_back({varied.figure.name, varied.figure.value, bar(varied, tornado, largest),
                    change_text(varied.outcome[0], tornado.base),
                    change_text(varied.outcome[1], tornado.base)});
  }
  return fmt::format(
      "{}\nstep {}; each figure of the hardware {} less and more, planned and replayed anew\n\n"
      "{}\nin the picture - is the step with less of a figure, + with more\n{}",
      cut(printable(tornado.name), kTableWidth), to_text(tornado.base.step), share, rows_text(rows),
      memory_text(tornado));
}

Json outcome_json(const Outcome& outcome) {
  return Object{{"step_time_s", outcome.step / Seconds{1}},
                {"memory_left_bytes",
                 outcome.memory_left ? Json(*outcome.memory_left / Bytes{1}) : Json(nullptr)}};
}

Json tornado_json(const Tornado& tornado) {
  Array figures;
  for (const Varied& varied : tornado.figures) {
    figures.push_back(Object{{"figure", varied.figure.name},
                             {"is", varied.figure.value},
                             {"less", outcome_json(varied.outcome[0])},
                             {"more", outcome_json(varied.outcome[1])},
                             {"swing_s", varied.swing() / Seconds{1}}});
  }
  return Object{{"schema", kSchema},
                {"name", tornado.name},
                {"by", tornado.share},
                {"base", outcome_json(tornado.base)},
                {"figures", std::move(figures)}};
}

}  // namespace

void tornado_command(const TornadoArguments& args) {
  const Tornado tornado = make_tornado(args);
  print(args.format == "json" ? to_json(tornado_json(tornado)) : tornado_text(tornado));
}

Json tornado_document(const TornadoArguments& args) {
  return tornado_json(make_tornado(args));
}

}  // namespace shardsim
