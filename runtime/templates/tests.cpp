// Tests: the words after `is`.
#include <algorithm>

#include "runtime/templates/arguments.h"
#include "runtime/templates/formatting.h"
#include "runtime/templates/interpreter.h"
#include "runtime/templates/operators.h"

namespace smelt::templates {
namespace {

using Body = decltype(Test::body);

/// A test without arguments.
template <bool (*holds)(Interpreter&, const Value&)>
bool plain(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("test", arguments, {});
  return holds(interpreter, subject);
}

/// A test of two values.
template <bool (*holds)(Budget&, const Value&, const Value&)>
bool pair(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("test", arguments, {"other"}, 1);
  return holds(interpreter.budget(), subject, *p[0]);
}

bool remainder_is(Interpreter& interpreter, const Value& value, const Value& by, int64_t rest) {
  return equal(interpreter.budget(), arithmetic(interpreter.budget(), Op::modulo, value, by), Value(rest));
}

bool odd(Interpreter& interpreter, const Value& v) {
  return remainder_is(interpreter, v, Value(int64_t{2}), 1);
}
bool even(Interpreter& interpreter, const Value& v) {
  return remainder_is(interpreter, v, Value(int64_t{2}), 0);
}

bool divisible_by(Interpreter& interpreter, const Value& subject, Arguments& arguments) {
  Parameters p("divisibleby", arguments, {"num"}, 1);
  return remainder_is(interpreter, subject, *p[0], 0);
}

bool defined(Interpreter&, const Value& v) { return !v.undefined(); }
bool undefined(Interpreter&, const Value& v) { return v.undefined(); }
bool none(Interpreter&, const Value& v) { return v.none(); }
bool boolean(Interpreter&, const Value& v) { return v.boolean(); }
bool is_true(Interpreter&, const Value& v) { return v.boolean() && *v.boolean(); }
bool is_false(Interpreter&, const Value& v) { return v.boolean() && !*v.boolean(); }
bool integer(Interpreter&, const Value& v) { return v.integer(); }
bool real(Interpreter&, const Value& v) { return v.real(); }
bool number(Interpreter&, const Value& v) { return v.integer() || v.real() || v.boolean(); }
bool string(Interpreter&, const Value& v) { return v.text(); }
bool mapping(Interpreter&, const Value& v) { return v.dict(); }
bool iterable(Interpreter&, const Value& v) { return is_iterable(v); }
bool escaped(Interpreter&, const Value& v) { return v.text() && v.text()->safe; }
bool callable(Interpreter&, const Value& v) {
  return v.undefined() || (v.object() && v.object()->callable());
}

bool sequence(Interpreter&, const Value& v) {
  return v.undefined() || v.text() || v.sequence() || v.dict() || v.object_of<Range>();
}

bool lower_case(Interpreter& interpreter, const Value& v) {
  return is_lower(*make_text(interpreter.budget(), str(interpreter.budget(), v)).text());
}
bool upper_case(Interpreter& interpreter, const Value& v) {
  return is_upper(*make_text(interpreter.budget(), str(interpreter.budget(), v)).text());
}

bool is_filter(Interpreter&, const Value& v) {
  hash(v);  // refuses values that cannot be looked up
  return v.text() && (find_filter(v.text()->bytes) || omitted_filter(v.text()->bytes));
}
bool is_test(Interpreter&, const Value& v) {
  hash(v);  // refuses values that cannot be looked up
  return v.text() && find_test(v.text()->bytes);
}

bool same_as(Budget&, const Value& a, const Value& b) { return identical(a, b); }
bool in(Budget& budget, const Value& a, const Value& b) { return contains(budget, b, a); }
bool eq(Budget& budget, const Value& a, const Value& b) { return equal(budget, a, b); }
bool ne(Budget& budget, const Value& a, const Value& b) { return !equal(budget, a, b); }
bool lt(Budget& budget, const Value& a, const Value& b) { return less(budget, a, b); }
bool le(Budget& budget, const Value& a, const Value& b) { return less_or_equal(budget, a, b); }
bool gt(Budget& budget, const Value& a, const Value& b) { return less(budget, b, a, ">"); }
bool ge(Budget& budget, const Value& a, const Value& b) { return less_or_equal(budget, b, a, ">="); }

constexpr Test kTests[] = {{"odd", plain<odd>},
                           {"even", plain<even>},
                           {"divisibleby", divisible_by},
                           {"defined", plain<defined>},
                           {"undefined", plain<undefined>},
                           {"filter", plain<is_filter>},
                           {"test", plain<is_test>},
                           {"none", plain<none>},
                           {"boolean", plain<boolean>},
                           {"false", plain<is_false>},
                           {"true", plain<is_true>},
                           {"integer", plain<integer>},
                           {"float", plain<real>},
                           {"lower", plain<lower_case>},
                           {"upper", plain<upper_case>},
                           {"string", plain<string>},
                           {"mapping", plain<mapping>},
                           {"number", plain<number>},
                           {"sequence", plain<sequence>},
                           {"iterable", plain<iterable>},
                           {"callable", plain<callable>},
                           {"sameas", pair<same_as>},
                           {"escaped", plain<escaped>},
                           {"in", pair<in>},
                           {"==", pair<eq>},
                           {"eq", pair<eq>},
                           {"equalto", pair<eq>},
                           {"!=", pair<ne>},
                           {"ne", pair<ne>},
                           {">", pair<gt>},
                           {"gt", pair<gt>},
                           {"greaterthan", pair<gt>},
                           {">=", pair<ge>},
                           {"ge", pair<ge>},
                           {"<", pair<lt>},
                           {"lt", pair<lt>},
                           {"lessthan", pair<lt>},
                           {"<=", pair<le>},
                           {"le", pair<le>}};

}  // namespace

const Test* find_test(std::string_view name) {
  const auto found = std::ranges::find(kTests, name, &Test::name);
  return found != std::end(kTests) ? found : nullptr;
}

}  // namespace smelt::templates
