"""Compiling the steps of kernels: no further than what their kernels take in.

numba optimizes every function that it compiles, with all that this one calls, and makes machine code of it. A
step is called by compiled code alone, which takes the step's code in and is optimized as a whole. So what is
made of the step itself nobody runs, and it is half of what LLVM has to do.
"""

# mypy: disallow-untyped-decorators=False

from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class Unfinished(JITCodeLibrary):  # type: ignore[misc]
    """What a step and those that it calls are translated to, neither optimized nor made to machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _StepLowering(NativeLowering):  # type: ignore[misc]
    _name = "step_lowering"

    def run_pass(self, state: Any) -> bool:
        """Translate a step, and let other functions call it."""
        context = state.targetctx
        state.library = Unfinished(context.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        step = state.cr.fndesc
        # Stands for the step where numba asks for a function; it has no code.
        entry = _dynfunc.make_function(
            step.lookup_module(), step.qualname, "", 0, state.cr.env, (state.library,)
        )
        context.insert_user_function(entry, step, [state.library])
        state.cr = state.cr._replace(cfunc=entry)
        return True


class StepCompiler(CompilerBase):  # type: ignore[misc]
    """numba's compiler but for its last part."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_StepLowering, NativeLowering)
        passes.passes = [each for each in passes.passes if each[0] is not NativeLowering]
        passes.finalize()
        return [passes]
