// The table of smelt verify: quantities with their errors and bounds.
#pragma once

#include <span>
#include <string>

#include "compiler/cli/commands/verify.h"
#include "compiler/cli/shared/text_table.h"

namespace smelt::cli {

/// Returns the Euclidean norm of the elements, computed in double.
double norm(std::span<const float> values);
/// Returns the norm of a - b. Requires: a and b have the same number of elements.
double distance(std::span<const float> a, std::span<const float> b);

class VerifyReport {
 public:
  /// Adds a quantity, which passes if error <= bound. NaN fails.
  void add(const std::string& what, double error, double bound);
  /// Adds a tensor. Its error is its distance from the reference, divided by the reference's norm. If the
  /// reference is all zeros, the error is the norm of `value`, and its bound is 1e-6. A tensor with another
  /// number of elements than the reference fails.
  void add_tensor(const std::string& what, std::span<const float> value, std::span<const float> reference,
                  double bound);
  /// Adds a quantity that must be equal to its reference. `good`: whether both are equal. `found`: text for
  /// the table.
  void add_exact(const std::string& what, const std::string& found, bool good);
  /// Adds a row of information, which neither passes nor fails.
  void add_note(const std::string& what, const std::string& found);

  Verified result() const { return {passed_ + failed_, failed_, table_.text()}; }

 private:
  void add_row(const std::string& what, std::string error, std::string bound, bool good);

  TextTable table_{{"quantity", "error", "bound", ""}};
  int passed_ = 0, failed_ = 0;
};

}  // namespace smelt::cli
