// The losses of a run as a picture that any browser shows.
#pragma once

#include <string>
#include <string_view>

#include "runtime/engine/training/metrics.h"

namespace smelt {

/// Returns an SVG of 900 x 480: the training loss of each step (faint), its mean around each step, and the
/// held-back loss with a dot at each evaluation and its last value written next to the plot.
std::string render_loss_curve(const LossHistory& history, std::string_view title);

}  // namespace smelt
