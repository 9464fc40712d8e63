// Plans edited as by hand: numbers, names and lists of their manifests, behind checksums of the file that are
// right. Each is an Error, or runs all its entries on random inputs, in a process of its own kind with a
// limit of time and memory. Ends with 1 where one ended that process, or did not end.
//
//   plan_edits PLAN... [--edits N] [--seed N] [--first N] [--seconds N]
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <random>

#include "runtime/base/error.h"
#include "runtime/plan/plan_file.h"
#include "runtime/session/session.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"
#include "tests/support/plan_text.h"

namespace smelt {
namespace {

using Random = std::mt19937_64;

struct NamedPlan {
  std::string name;
  testing::PlanText text;
};

size_t below(Random& random, size_t count) { return static_cast<size_t>(random() % count); }

// ---- edits

/// A value of the manifest, with the key under which it stands (that of the list, in a list).
struct Place {
  Json* value;
  std::string key;
};

void collect(Json& value, const std::string& key, std::vector<Place>& places) {
  places.push_back({&value, key});
  if (value.is_array())
    for (Json& item : value) collect(item, key, places);
  if (value.is_object())
    for (auto& [name, member] : value.items()) collect(member, name, places);
}

Json edited_number(const Json& number, Random& random) {
  const auto value = number.is_number_integer() ? number.get<int64_t>() : int64_t{1};
  const int64_t numbers[] = {
      0,         1,         -1,          value + 1,        value - 1,
      value * 2, value / 2, value * 100, int64_t{1} << 31, int64_t{1} << 40,
      INT64_MAX, -value,    2,           value * 1000003,  static_cast<int64_t>(random() % 64)};
  return numbers[below(random, std::size(numbers))];
}

Json edited_text(const std::string& text, Random& random) {
  const std::string texts[] = {"",
                               "2*" + text,
                               text + " + 1",
                               text + " - 1",
                               text + "*" + text,
                               "B",
                               "T",
                               "B*T",
                               "ceil_div(" + text + ", 4)",
                               text + "x",
                               "1000000*" + text,
                               "0*" + text};
  return texts[below(random, std::size(texts))];
}

/// What stands elsewhere under the same key, as the types of two buffers or the kernels of two steps.
bool exchange(const Place& place, const std::vector<Place>& places, Random& random) {
  for (int tries = 0; tries < 2000; ++tries) {
    const Place& other = places[below(random, places.size())];
    if (other.key != place.key || *other.value == *place.value) continue;
    const Json copy = *other.value;  // one may be a part of the other
    *place.value = copy;
    return true;
  }
  return false;
}

void edit_list(Json& list, Random& random) {
  const size_t at = below(random, list.size()), other = below(random, list.size());
  switch (below(random, 4)) {
    case 0:
      return void(list.erase(at));
    case 1: {
      const Json copy = list[at];
      return void(list.insert(list.begin() + static_cast<ptrdiff_t>(other), copy));
    }
    case 2:
      return std::swap(list[at], list[other]);
    default:
      list.erase(list.begin() + static_cast<ptrdiff_t>(at), list.end());
  }
}

bool edit(Json& section, Random& random) {
  std::vector<Place> places;
  collect(section, "", places);
  const Place& place = places[below(random, places.size())];
  Json& value = *place.value;
  if (below(random, 3) == 0) return exchange(place, places, random);
  if (value.is_boolean())
    value = !value.get<bool>();
  else if (value.is_number())
    value = edited_number(value, random);
  else if (value.is_string())
    value = below(random, 3) == 0 ? edited_number(1, random) : edited_text(value.get<std::string>(), random);
  else if (value.is_null())
    value = edited_number(1, random);
  else if (value.is_array() && !value.empty())
    edit_list(value, random);
  else if (value.is_object() && !value.empty())
    value.erase(std::next(value.begin(), static_cast<ptrdiff_t>(below(random, value.size()))).key());
  return true;
}

/// One edit, or up to three, most of them of steps and buffers.
std::string edited(testing::PlanText plan, Random& random) {
  Json& fields = plan.root["plan"];
  const char* sections[] = {"entries", "entries", "entries", "entries", "entries", "buffers",
                            "buffers", "states",  "kernels", "symbols", ""};
  for (size_t left = below(random, 3) > 0 ? 1 : 1 + below(random, 3); left > 0; --left) {
    const std::string section = sections[below(random, std::size(sections))];
    Json* edits = section.empty() ? &fields : &fields[section];
    if (section == "entries" && edits->is_array() && !edits->empty() && below(random, 8) > 0)
      edits = &(*edits)[below(random, edits->size())];  // what is exchanged stays within an entry
    edit(*edits, random);
  }
  return put_together(plan);
}

// ---- runs

/// Sizes of a few elements, as far as the bounds allow.
SymbolValues few(const Symbols& symbols, Random& random) {
  SymbolValues values;
  for (const std::string& name : symbols.names()) values[name] = 1 + static_cast<int64_t>(random() % 6);
  try {
    symbols.check(values);
  } catch (const Error&) {
    for (auto& [name, value] : values) value = 1;
  }
  return values;
}

std::vector<std::byte> random_data(const Port& port, size_t elements, Random& random) {
  std::vector<std::byte> data(elements * static_cast<size_t>(size_of(port.dtype)));
  for (size_t i = 0; i < elements; ++i) {
    if (port.dtype == DType::i32) {
      const auto number =
          static_cast<int32_t>(port.ids ? random() % static_cast<uint64_t>(port.ids->below) : random());
      std::memcpy(data.data() + 4 * i, &number, 4);
    } else if (port.dtype == DType::f32) {
      const float number = static_cast<float>(random() % 2001) / 1000 - 1;
      std::memcpy(data.data() + 4 * i, &number, 4);
    }
  }
  return data;
}

void run_entry(Session& session, const PlanEntry& entry, Random& random) {
  constexpr int64_t kMost = 1 << 20;
  const SymbolValues values = few(session.plan().symbols, random);
  std::vector<std::vector<std::byte>> data;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<InputTensor> inputs;
  data.reserve(entry.inputs.size()), shapes.reserve(entry.inputs.size());
  for (const Port& port : entry.inputs) {
    if (port.optional && random() % 4 == 0) continue;
    const int64_t elements = element_count(port.shape).evaluate(values);
    if (elements > kMost) return;
    std::vector<int64_t>& shape = shapes.emplace_back();
    for (const Dim& dim : port.shape) shape.push_back(dim.evaluate(values));
    data.push_back(random_data(port, static_cast<size_t>(elements), random));
    inputs.push_back({port.name, port.dtype, shape, data.back().data()});
  }
  session.run(entry.name, inputs);
}

void run_all(const std::string& file, Random& random) {
  const auto plan = std::make_shared<const Plan>(parse_plan(std::as_bytes(std::span(file)), "plain.plan"));
  Session session(plan, {.threads = 1});
  session.initialize(1);
  for (const PlanEntry& entry : plan->entries) run_entry(session, entry, random);
}

/// True where the plan is accepted. Whatever is wrong is an Error.
bool load_and_run(const std::string& file, Random& random) {
  std::shared_ptr<const Plan> plan;
  try {
    plan = std::make_shared<const Plan>(parse_plan(std::as_bytes(std::span(file)), "edited.plan"));
  } catch (const Error&) {
    return false;
  }
  try {
    Session session(plan, {.threads = 1});
    session.initialize(1);
    for (int round = 0; round < 3; ++round)
      for (const PlanEntry& entry : plan->entries) try {
          run_entry(session, entry, random);
        } catch (const Error&) {  // of an input, or of the numbers that come out
        }
  } catch (const Error&) {  // no memory for it
  }
  return true;
}

// ---- processes

struct Options {
  std::vector<NamedPlan> plans;
  uint64_t edits = 1000, seed = 1, first = 0;
  int seconds = 20;
};

struct Report {
  uint64_t number = 0;
  char what = 0;  // 'b'egun, 'a'ccepted, 'r'efused
};

void limit_memory() {
#ifndef __SANITIZE_ADDRESS__
  const rlimit most{rlim_t{8} << 30, rlim_t{8} << 30};
  setrlimit(RLIMIT_AS, &most);
#endif
}

/// Edits from `first` on, each told before it begins and when it has ended.
[[noreturn]] void work(const Options& options, uint64_t first, int to) {
  limit_memory();
  for (uint64_t i = first; i < options.first + options.edits; ++i) {
    Random random(options.seed * 1000003 + i);
    const std::string file = edited(options.plans[i % options.plans.size()].text, random);
    Report report{i, 'b'};
    if (write(to, &report, sizeof report) != sizeof report) _exit(2);
    report.what = load_and_run(file, random) ? 'a' : 'r';
    if (write(to, &report, sizeof report) != sizeof report) _exit(2);
  }
  _exit(0);
}

class Watch {
 public:
  explicit Watch(Options options) : options_(std::move(options)) {}

  int run() {
    if (!run_plain()) return 2;
    for (uint64_t next = options_.first; next < options_.first + options_.edits;) next = run_from(next);
    std::printf("%llu edits: %llu refused, %llu accepted and run, %llu ended the process, %llu did not end\n",
                number(options_.edits), number(refused_), number(accepted_), number(crashes_),
                number(hangs_));
    return crashes_ + hangs_ > 0;
  }

 private:
  static unsigned long long number(uint64_t value) { return value; }

  /// All entries of all plans as they were compiled, without an Error.
  bool run_plain() const {
    const pid_t child = fork();
    if (child == 0) {
      Random random(options_.seed);
      for (const NamedPlan& plan : options_.plans) try {
          run_all(put_together(plan.text), random);
        } catch (const Error& error) {
          std::printf("%s, not edited: %s\n", plan.name.c_str(), error.what());
          std::fflush(stdout);
          _exit(1);
        }
      _exit(0);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
  }

  /// Until all is done, or one fails: the number to go on with.
  uint64_t run_from(uint64_t first) {
    int ends[2];
    if (pipe(ends) != 0) fail("no pipe to a process");
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      work(options_, first, ends[1]);
    }
    close(ends[1]);
    uint64_t begun = first;
    const bool hung = !listen(ends[0], begun);
    if (hung) kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    close(ends[0]);
    if (!hung && WIFEXITED(status) && WEXITSTATUS(status) == 0) return UINT64_MAX;
    ++(hung ? hangs_ : crashes_);
    std::printf("edit %llu of %s (--first %llu --edits 1): %s (status %d)\n", number(begun),
                options_.plans[begun % options_.plans.size()].name.c_str(), number(begun),
                hung ? "does not end" : "ends the process", status);
    return begun + 1;
  }

  /// False where nothing is heard for too long.
  bool listen(int from, uint64_t& begun) {
    for (Report report;;) {
      pollfd waiting{from, POLLIN, 0};
      if (poll(&waiting, 1, options_.seconds * 1000) == 0) return false;
      if (read(from, &report, sizeof report) != sizeof report) return true;
      begun = report.number;
      refused_ += report.what == 'r', accepted_ += report.what == 'a';
    }
  }

  Options options_;
  uint64_t refused_ = 0, accepted_ = 0, crashes_ = 0, hangs_ = 0;
};

int main_of(const std::vector<std::string>& arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const auto value = [&] { return i + 1 < arguments.size() ? std::stoull(arguments[++i]) : 0; };
    if (word == "--edits")
      options.edits = value();
    else if (word == "--seed")
      options.seed = value();
    else if (word == "--first")
      options.first = value();
    else if (word == "--seconds")
      options.seconds = static_cast<int>(value());
    else
      options.plans.push_back({word, testing::take_apart(read_text_file(word))});
  }
  if (options.plans.empty()) {
    std::fprintf(stderr, "usage: plan_edits PLAN... [--edits N] [--seed N] [--first N] [--seconds N]\n");
    return 2;
  }
  return Watch(std::move(options)).run();
}

}  // namespace
}  // namespace smelt

int main(int count, char** words) {
  try {
    return smelt::main_of({words + 1, words + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plan_edits: %s\n", error.what());
    return 2;
  }
}
