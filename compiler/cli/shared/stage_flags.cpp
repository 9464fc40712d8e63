#include "compiler/cli/shared/trainer_flags.h"

#include <fmt/ranges.h>

#include "runtime/engine/training/pipeline_stage.h"

namespace smelt::cli {

std::vector<std::pair<std::string, std::string>> stage_flags(const Plan& plan,
                                                             const CompileOptions* compiled) {
  std::vector<std::pair<std::string, std::string>> flags;
  const auto stage = pipeline_stage(plan);
  const auto add = [&](const char* name, std::string value) { flags.emplace_back(name, std::move(value)); };
  add("--target", plan.target);
  add("--mesh", str(plan.mesh));
  if (!stage) return flags;
  add("--pipeline-parts", fmt::format("{}", stage->parts_a_stage));
  if (!compiled) return flags;
  const CompileOptions& c = *compiled;
  const ApplyOptimizerOptions& o = c.training.optimizer;
  add("--precision",
      fmt::format("{}{}{}", name(c.storage), c.tf32 ? ", tf32" : "", c.masters ? "" : ", no masters"));
  add("--zero", fmt::format("{}", c.zero));
  add("--zero-bucket", fmt::format("{}", c.zero_bucket));
  add("--optimizer", std::string(name(o.optimizer)));
  add("--weight-decay", fmt::format("{}{}", o.weight_decay, o.decay_all ? " of all" : ""));
  add("--clip", fmt::format("{}", o.clip_norm));
  add("numbers of the optimizer",
      fmt::format("{}, {}, {}, {}, {}, {}, {}, {}", option_text(o.beta1), option_text(o.beta2),
                  option_text(o.eps), option_text(o.momentum), o.dampening, o.nesterov, o.learning_rate_decay,
                  o.initial_accumulator_value));
  add("--lr-of", fmt::format("{}", fmt::join(o.rate_of, ", ")));
  add("--decay-of", fmt::format("{}", fmt::join(o.decay_of, ", ")));
  const auto own = [](const std::optional<double>& p) { return p ? fmt::format("{}", *p) : "the model's"; };
  add("--dropout", own(c.build.dropout));
  add("--layer-dropout", own(c.build.layer_dropout));
  add("--label-smoothing", own(c.build.label_smoothing));
  add("--train-only", fmt::format("{}", fmt::join(c.trained, ", ")));
  add("--attention", fmt::format("{}", static_cast<int>(c.attention)));
  return flags;
}

}  // namespace smelt::cli
