#include "passes/graph/sharding/reshard.h"

#include <algorithm>

#include "ir/analysis/uses.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

bool is_in(const Sharding& sharding, size_t axis) {
  return llvm::is_contained(sharding.partial, axis) ||
         llvm::any_of(sharding.dims, [&](const auto& axes) { return llvm::is_contained(axes, axis); });
}

/// The axis that must cut dim i next, where what cuts it already is as it must be.
std::optional<size_t> next_cut(const Sharding& at, const Sharding& to, size_t i) {
  const auto &is = at.dims[i], &wanted = to.dims[i];
  if (is.size() >= wanted.size() || !std::equal(is.begin(), is.end(), wanted.begin())) return std::nullopt;
  return wanted[is.size()];
}

bool is_prefix(const Sharding& at, const Sharding& to, size_t i) {
  return at.dims[i].size() <= to.dims[i].size() &&
         std::equal(at.dims[i].begin(), at.dims[i].end(), to.dims[i].begin());
}

void take_away(std::vector<size_t>& axes, size_t axis) { axes.erase(llvm::find(axes, axis)); }

}  // namespace

Dim Resharder::place(const std::vector<size_t>& axes) const {
  Dim number = 0;
  for (const size_t axis : axes)
    number = number * mesh().axes[axis].size + Dim::symbol(coordinate(mesh().axes[axis]));
  return number;
}

/// Looked up in a table, which no rank has to compute.
Value* Resharder::place_value(const std::vector<size_t>& axes, int64_t times) {
  Value*& known = places_[{axes, times}];
  if (known) return known;
  std::vector<double> multiples(static_cast<size_t>(parts_of(mesh(), axes)));
  for (size_t i = 0; i < multiples.size(); ++i)
    multiples[i] = static_cast<double>(i) * static_cast<double>(times);
  Value* all = b_.table(multiples, {DType::i32, {static_cast<int64_t>(multiples.size())}});
  return known = b_.reshape(b_.slice(all, 0, place(axes), 1), {});
}

Value* Resharder::collective(Value* value, const char* kind, size_t axis, Attributes attributes,
                             const std::string& because) {
  if (mesh().axes[axis].size == 1) return value;
  attributes.set(attr::kind, std::string(kind));
  attributes.set(attr::mesh_axis, mesh().axes[axis].name);
  Value* result = b_.create(Op::collective, {value}, std::move(attributes))->result();
  if (log_)
    log_->push_back({b_.graph().name, kind, mesh().axes[axis].name, b_.source(), because, str(result->type),
                     whole_bytes(*result)});
  return result;
}

Value* Resharder::all_reduce(Value* value, const std::vector<size_t>& axes, const char* sum,
                             const std::string& because) {
  for (const size_t axis : axes) {
    Attributes attributes;
    if (std::string_view(sum) != "add") attributes.set(attr::sum, std::string(sum));
    value = collective(value, "all_reduce", axis, std::move(attributes), because);
  }
  return value;
}

// ---- steps on the way, the cheapest first; each says whether it made one

bool Resharder::scatter(Value*& value, Sharding& at, const Sharding& to, const std::string& because) {
  for (size_t i = 0; i < at.dims.size(); ++i) {
    const auto axis = next_cut(at, to, i);
    if (!axis || !llvm::is_contained(at.partial, *axis)) continue;
    value = collective(value, "reduce_scatter", *axis, {attr::dim(static_cast<int64_t>(i))}, because);
    take_away(at.partial, *axis);
    at.dims[i].push_back(*axis);
    return true;
  }
  return false;
}

bool Resharder::slice(Value*& value, Sharding& at, const Sharding& to) {
  for (size_t i = 0; i < at.dims.size(); ++i) {
    const auto axis = next_cut(at, to, i);
    if (!axis || is_in(at, *axis)) continue;
    const auto part = value->shape()[i].divide(mesh().axes[*axis].size);
    if (!part)
      fail("{}: {} ranks along {} do not divide {}", b_.source(), mesh().axes[*axis].size,
           mesh().axes[*axis].name, value->shape()[i].str());
    if (mesh().axes[*axis].size > 1)
      value = b_.slice(value, static_cast<int64_t>(i), place({*axis}) * *part, *part);
    at.dims[i].push_back(*axis);
    return true;
  }
  return false;
}

bool Resharder::exchange(Value*& value, Sharding& at, const Sharding& to, const std::string& because) {
  for (size_t i = 0; i < at.dims.size(); ++i) {
    const auto axis = next_cut(at, to, i);
    if (!axis) continue;
    const auto from =
        llvm::find_if(at.dims, [&](const auto& axes) { return !axes.empty() && axes.back() == *axis; });
    if (from == at.dims.end()) continue;
    const auto dim = static_cast<int64_t>(from - at.dims.begin());
    if (dim == static_cast<int64_t>(i)) continue;
    value =
        collective(value, "all_to_all", *axis, {attr::dim(dim), attr::to(static_cast<int64_t>(i))}, because);
    from->pop_back();
    at.dims[i].push_back(*axis);
    return true;
  }
  return false;
}

bool Resharder::sum(Value*& value, Sharding& at, const Sharding& to, const std::string& because) {
  for (const size_t axis : at.partial) {
    if (is_in(to, axis)) continue;
    value = all_reduce(value, {axis}, "add", because);
    take_away(at.partial, axis);
    return true;
  }
  return false;
}

bool Resharder::gather(Value*& value, Sharding& at, const Sharding& to, const std::string& because) {
  for (size_t i = 0; i < at.dims.size(); ++i) {
    if (is_prefix(at, to, i)) continue;
    value = collective(value, "all_gather", at.dims[i].back(), {attr::dim(static_cast<int64_t>(i))}, because);
    at.dims[i].pop_back();
    return true;
  }
  return false;
}

/// The first rank holds all of it, the others nothing.
bool Resharder::make_addend(Value*& value, Sharding& at, const Sharding& to) {
  for (const size_t axis : to.partial) {
    if (is_in(at, axis)) continue;
    at.partial.push_back(axis);
    if (splat(value) == 0.0 || mesh().axes[axis].size == 1) return true;
    Value* first = b_.eq(place_value({axis}), b_.scalar(0, DType::i32));
    value = b_.select(b_.broadcast(first, {}, value->shape()), value, b_.like(value, 0));
    return true;
  }
  return false;
}

bool Resharder::step(Value*& value, Sharding& at, const Sharding& to, const std::string& because) {
  return scatter(value, at, to, because) || slice(value, at, to) || exchange(value, at, to, because) ||
         sum(value, at, to, because) || gather(value, at, to, because) || make_addend(value, at, to);
}

Value* Resharder::move(Value* value, const Sharding& from, const Sharding& to, const std::string& because) {
  Sharding at = from, goal = to;
  llvm::sort(at.partial), llvm::sort(goal.partial);
  if (at == goal) return value;
  const bool is_sum = !at.partial.empty();
  Value*& known = made_[{value, str(goal, mesh()), is_sum ? Phase::forward : phase_}];
  if (known) return known;
  Value* result = value;
  while (at != goal) {
    if (!step(result, at, goal, because)) finish_a_sum(result, at, goal, because);
    llvm::sort(at.partial);
  }
  result->sharding = goal;
  return known = result;
}

/// Finishes a sum over an axis that will cut a dim which cannot be cut yet.
void Resharder::finish_a_sum(Value*& value, Sharding& at, const Sharding& to, const std::string& because) {
  const auto axis = llvm::find_if(at.partial, [&](size_t a) { return !llvm::is_contained(to.partial, a); });
  if (axis == at.partial.end())
    fail_with(Status::internal, "{}: no way from {} to {}", b_.source(), str(at, mesh()), str(to, mesh()));
  value = all_reduce(value, {*axis}, "add", because);
  at.partial.erase(axis);
}

}  // namespace smelt
