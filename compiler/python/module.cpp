// smelt._native: the compiler and the runtime for the Python package. The interface for users is in smelt/.
#include <nanobind/nanobind.h>

#include "compiler/python/bindings.h"
#include "compiler/python/calls.h"
#include "compiler/python/device_tensor.h"
#include "compiler/python/plan.h"
#include "compiler/python/session.h"
#include "runtime/smelt.h"

NB_MODULE(_native, module) {
  using namespace smelt::python;
  // Others keep plans and tensors until the process ends (torch.compile does), which is no fault.
  nanobind::set_leak_warnings(false);
  translate_errors();
  module.attr("version") = SMELT_VERSION;
  bind_command_line(module);
  bind_sizes(module);
  bind_graphs(module);
  bind_tensor(module);
  bind_device_tensor(module);
  auto plan = bind_plan(module);
  bind_reports(module, plan);
  bind_plan_report(plan);
  auto session = bind_session(module);
  bind_generate(session);
  bind_batch(module);
  bind_images(module);
}
