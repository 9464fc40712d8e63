// Plot of the losses of a training run, as an SVG image.
#pragma once

#include <string>
#include <string_view>

#include "runtime/engine/training/metrics.h"

namespace smelt {

/// Returns the text of an SVG image of 900 x 480 pixels. It shows the training loss (faint), the smoothed
/// training loss, and the held-back loss with a dot at each evaluation and its last value as a label.
std::string render_loss_curve(const LossHistory& history, std::string_view title);

}  // namespace smelt
