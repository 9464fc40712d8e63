// Plot of the losses of a training run, as an SVG image.
#pragma once

#include <string>
#include <string_view>

#include "runtime/engine/training/metrics.h"

namespace smelt {

/// Returns the text of an SVG image of 900 x 480 pixels. It shows the training loss (faint), the smoothed
/// training loss, and the loss on the held-back data, with a dot at each evaluation and the last value as a
/// label. Held-back data are records that the run does not train on.
std::string render_loss_curve(const LossHistory& history, std::string_view title);

}  // namespace smelt
