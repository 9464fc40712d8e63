// Filters that select and convert elements. Their results are iterators, as in Jinja.
#include <unordered_map>

#include "runtime/templates/arguments.h"
#include "runtime/templates/filter_tables.h"
#include "runtime/templates/interpreter.h"

namespace smelt::templates {
namespace {

/// Makes an iterator of the elements that `produce` appends. An error comes when the iterator reaches it,
/// because Jinja's generators are lazy.
template <typename Produce>
Value generate(Interpreter& interpreter, Produce produce) {
  std::vector<Value> out;
  std::exception_ptr error;
  try {
    produce(out);
  } catch (const TemplateError& failed) {
    if (failed.fault() == Fault::limit) throw;
    error = std::current_exception();
  }
  interpreter.budget().spend(out.size());
  return make_object<Iterator>(interpreter.budget(), "generator", std::move(out), error);
}

const Value* named(const Arguments& arguments, std::string_view name) {
  for (const auto& [key, value] : arguments.named) {
    if (key == name) return &value;
  }
  return nullptr;
}

void map_attribute(Interpreter& interpreter, const std::vector<Value>& items, const Arguments& arguments,
                   std::vector<Value>& out) {
  for (const auto& [name, _] : arguments.named) {
    if (name != "attribute" && name != "default") refuse("unexpected keyword argument '{}'", name);
  }
  const Value* missing = named(arguments, "default");
  if (missing && missing->none()) missing = nullptr;
  const AttributePath path(interpreter.budget(), named(arguments, "attribute"), missing);
  for (const Value& item : items) out.push_back(path(interpreter, item));
}

void map_filter(Interpreter& interpreter, const std::vector<Value>& items, const Arguments& arguments,
                std::vector<Value>& out) {
  if (arguments.positional.empty()) refuse("map requires a filter argument");
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin());
  for (const Value& item : items) {
    Arguments copy = rest;
    interpreter.budget().spend(copy.positional.size() + copy.named.size());
    out.push_back(interpreter.filter(arguments.positional[0], item, copy));
  }
}

Value map(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  return generate(interpreter, [&](std::vector<Value>& out) {
    if (!subject.truth()) return;
    const auto items = elements(interpreter.budget(), subject);
    if (arguments.positional.empty() && named(arguments, "attribute")) {
      map_attribute(interpreter, items, arguments, out);
    } else {
      map_filter(interpreter, items, arguments, out);
    }
  });
}

/// Appends the elements for which a test holds. With `attributes`, the first argument is what is tested.
void select(Interpreter& interpreter, const Value& subject, const Arguments& arguments, bool attributes,
            bool wanted, std::vector<Value>& out) {
  if (!subject.truth()) return;
  const size_t name = attributes ? 1 : 0;
  if (arguments.positional.size() < name) refuse("missing parameter for attribute name");
  const AttributePath path(interpreter.budget(), attributes ? &arguments.positional[0] : nullptr);
  Arguments rest = arguments;
  const bool tests = rest.positional.size() > name;
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + name + (tests ? 1 : 0));
  for (const Value& item : elements(interpreter.budget(), subject)) {
    const Value part = path(interpreter, item);
    Arguments copy = rest;
    const bool held = tests ? interpreter.test(arguments.positional[name], part, copy) : part.truth();
    if (held == wanted) out.push_back(item);
  }
}

template <bool attributes, bool wanted>
Value selected(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  return generate(interpreter, [&](std::vector<Value>& out) {
    select(interpreter, subject, arguments, attributes, wanted, out);
  });
}

Value unique(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("unique", arguments, {"case_sensitive", "attribute"});
  Budget& budget = interpreter.budget();
  return generate(interpreter, [&](std::vector<Value>& out) {
    const AttributePath path(budget, p[1]);
    std::unordered_multimap<size_t, Value> seen;
    for (const Value& item : elements(budget, subject)) {
      const Value part = path(interpreter, item);
      Value key = p.truth(0) ? part : without_case(interpreter, part);
      const size_t code = hash(key);
      bool known = false;
      for (auto [at, end] = seen.equal_range(code); at != end && !known; ++at) {
        known = identical(at->second, key) || equal(budget, at->second, key);
      }
      if (known) continue;
      seen.emplace(code, std::move(key));
      out.push_back(item);
    }
  });
}

Value items(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("items", arguments, {});
  return generate(interpreter, [&](std::vector<Value>& out) {
    if (subject.undefined()) return;
    if (!subject.dict()) refuse("can only get item pairs from a mapping");
    for (const auto& [key, value] : subject.dict()->items)
      out.push_back(make_tuple(interpreter.budget(), {key, value}));
  });
}

Value batch(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("batch", arguments, {"linecount", "fill_with"}, 1);
  Budget& budget = interpreter.budget();
  return generate(interpreter, [&](std::vector<Value>& out) {
    std::vector<Value> row;
    for (const Value& item : elements(budget, subject)) {
      if (equal(budget, Value(static_cast<int64_t>(row.size())), *p[0])) {
        out.push_back(make_list(budget, std::exchange(row, {})));
      }
      row.push_back(item);
    }
    if (row.empty()) return;
    if (p.given(1)) {
      const int64_t missing = require_integer(*p[0]) - static_cast<int64_t>(row.size());
      if (missing > 0) {
        budget.spend(missing);
        row.insert(row.end(), missing, *p[1]);
      }
    }
    out.push_back(make_list(budget, std::move(row)));
  });
}

Value slices(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("slice", arguments, {"slices", "fill_with"}, 1);
  Budget& budget = interpreter.budget();
  return generate(interpreter, [&](std::vector<Value>& out) {
    const auto all = elements(budget, subject);
    const int64_t count = require_integer(*p[0]), size = static_cast<int64_t>(all.size());
    if (count == 0) refuse("integer division or modulo by zero");
    for (int64_t i = 0, at = 0; i < count; ++i) {
      const int64_t take = size / count + (i < size % count);
      std::vector<Value> part(all.begin() + at, all.begin() + at + take);
      at += take;
      if (p.given(1) && i >= size % count) part.push_back(*p[1]);
      out.push_back(make_list(budget, std::move(part)));
    }
  });
}

Value default_value(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("default", arguments, {"default_value", "boolean"});
  if (!subject.undefined() && !(p.truth(1) && !subject.truth())) return subject;
  return p[0] ? *p[0] : make_text(interpreter.budget(), "");
}

/// The attribute of an object; elements of dicts are no attributes.
Value attribute(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("attr", arguments, {"name"}, 1);
  const std::string& name = p.text(0).bytes;
  require_defined(subject);
  if (subject.dict() && !find_dict_method(name)) {
    return make_undefined(fmt::format("'dict object' has no attribute '{}'", name));
  }
  return interpreter.attribute(subject, name);
}

constexpr Filter kSelectionFilters[] = {{"attr", attribute},
                                        {"batch", batch},
                                        {"d", default_value},
                                        {"default", default_value},
                                        {"items", items},
                                        {"map", map},
                                        {"reject", selected<false, false>},
                                        {"rejectattr", selected<true, false>},
                                        {"select", selected<false, true>},
                                        {"selectattr", selected<true, true>},
                                        {"slice", slices},
                                        {"unique", unique}};

}  // namespace

std::span<const Filter> selection_filters() { return kSelectionFilters; }

}  // namespace smelt::templates
