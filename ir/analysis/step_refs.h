// Visitor of all buffer references (BufferRef) of a step of any kind, for passes that change them.
#pragma once

#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "ir/program/program.h"
#include "runtime/plan/plan_fields.h"

namespace smelt {

/// Visitor that calls `change` with every BufferRef in an object: the object itself, its elements if it is a
/// container, and its fields (as visit_fields lists them), at any depth.
template <typename Change>
class StepRefs {
 public:
  explicit StepRefs(Change change) : change_(std::move(change)) {}

  void visit(BufferRef& ref) const { change_(ref); }
  template <typename T>
  void visit(std::vector<T>& items) const {
    if constexpr (std::is_class_v<T>)
      for (T& item : items) visit(item);
  }
  template <typename T>
  void visit(std::optional<T>& item) const {
    if (item) visit(*item);
  }
  template <typename... Kinds>
  void visit(std::variant<Kinds...>& what) const {
    std::visit([this](auto& kind) { this->visit(kind); }, what);
  }
  template <typename T>
  void visit(T& item) const {
    const auto field = [this](const char*, auto& member, const auto&...) { this->visit(member); };
    if constexpr (requires { visit_fields(field, item); }) visit_fields(field, item);
  }

 private:
  Change change_;
};

/// Calls `change` with every BufferRef of the step's operation, Step::what. The lists Step::reads, writes and
/// may_alias are not changed.
template <typename Change>
void for_each_ref(Step& step, Change change) {
  StepRefs<Change>(std::move(change)).visit(step.what);
}

/// Replaces buffer number `from` by `to` in all references and lists of a step.
void replace_buffer(Step& step, int from, int to);

}  // namespace smelt
