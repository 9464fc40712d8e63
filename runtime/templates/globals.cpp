// Functions that every template has, and dict, namespace, cycler and joiner.
#include <algorithm>

#include "runtime/templates/arguments.h"
#include "runtime/templates/interpreter.h"

namespace smelt::templates {
namespace {

constexpr int64_t kMaxRange = 100000;  // that of Jinja's sandbox

Value range(Interpreter& interpreter, const Value&, Arguments& arguments) {
  Parameters p("range", arguments, {"start", "stop", "step"}, 1, kNoKeywords);
  const bool single = !p[1];
  const int64_t step = p.integer(2, 1);
  if (step == 0) refuse("range() arg 3 must not be zero");
  const Value out =
      make_object<Range>(interpreter.budget(), single ? 0 : p.integer(0), p.integer(single ? 0 : 1), step);
  if (out.object_of<Range>()->count() > kMaxRange) refuse("a range has at most {} elements", kMaxRange);
  return out;
}

/// The elements of dict(mapping or pairs, **named).
std::vector<std::pair<Value, Value>> members(Interpreter& interpreter, Arguments& arguments) {
  Budget& budget = interpreter.budget();
  if (arguments.positional.size() > 1)
    refuse("dict expected at most 1 argument, got {}", arguments.positional.size());
  std::vector<std::pair<Value, Value>> out;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.dict()) out = source.dict()->items;
    for (const Value& pair : source.dict() ? std::vector<Value>() : elements(budget, source)) {
      auto items = elements(budget, pair);
      if (items.size() != 2) refuse("dict() needs pairs, got {} values", items.size());
      out.emplace_back(std::move(items[0]), std::move(items[1]));
    }
  }
  for (auto& [name, value] : arguments.named) out.emplace_back(make_text(budget, name), std::move(value));
  return out;
}

/// The global `dict`, which also has the method fromkeys.
struct DictMaker : Object {
  std::string_view type() const override { return "TemplateDict"; }
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, Arguments& arguments) override {
    return make_dict(interpreter.budget(), members(interpreter, arguments));
  }
  bool attribute(Interpreter& interpreter, std::string_view name, Value& out) override {
    if (name != "fromkeys") return false;
    out = make_object<Function>(interpreter.budget(), name, find_dict_method(name));
    return true;
  }
};

Value make_namespace(Interpreter& interpreter, const Value&, Arguments& arguments) {
  const Value made = interpreter.keep<Namespace>();
  auto& space = *made.object_of<Namespace>();
  const Value all = make_dict(interpreter.budget(), members(interpreter, arguments));
  for (const auto& [name, value] : all.dict()->items) {
    if (!name.text()) unsupported("attributes of a namespace are texts: '{}' is not supported", name.type());
    space.set(interpreter.budget(), name.text()->bytes, value);
  }
  return made;
}

Value make_cycler(Interpreter& interpreter, const Value&, Arguments& arguments) {
  if (!arguments.named.empty()) refuse("cycler() takes no keyword arguments");
  if (arguments.positional.empty()) refuse("at least one item has to be provided");
  return interpreter.keep<Cycler>(std::move(arguments.positional));
}

Value make_joiner(Interpreter& interpreter, const Value&, Arguments& arguments) {
  Parameters p("joiner", arguments, {"sep"});
  return interpreter.keep<Joiner>(p[0] ? *p[0] : make_text(interpreter.budget(), ", "));
}

Value lipsum(Interpreter&, const Value&, Arguments&) { unsupported("the function lipsum is not supported"); }

Value strftime_now(Interpreter& interpreter, const Value&, Arguments& arguments) {
  Parameters p("strftime_now", arguments, {"format"}, 1);
  return make_text(interpreter.budget(), interpreter.clock()(p.text(0).bytes));
}

Value raise_exception(Interpreter& interpreter, const Value&, Arguments& arguments) {
  Parameters p("raise_exception", arguments, {"message"}, 1);
  throw TemplateError(Fault::raised, str(interpreter.budget(), *p[0]));
}

constexpr std::pair<std::string_view, Function::Body> kGlobals[] = {
    {"cycler", make_cycler},       {"joiner", make_joiner}, {"lipsum", lipsum},
    {"namespace", make_namespace}, {"range", range},        {"raise_exception", raise_exception},
    {"strftime_now", strftime_now}};

}  // namespace

bool find_global(Budget& budget, std::string_view name, Value& out) {
  if (name == "dict") {
    out = make_object<DictMaker>(budget);
    return true;
  }
  const auto found = std::ranges::find(kGlobals, name, [](const auto& row) { return row.first; });
  if (found == std::end(kGlobals)) return false;
  out = make_object<Function>(budget, found->first, found->second);
  return true;
}

}  // namespace smelt::templates
