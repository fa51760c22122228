import type { Type } from '@nestjs/common';
import type { ModuleRef } from '@nestjs/core';

/** What this process has of it: an API has no engine. */
export function find<T>(modules: ModuleRef, token: (abstract new (...args: never[]) => T) | string): T | null {
  try {
    return modules.get<T>(token as Type<T> | string, { strict: false });
  } catch {
    return null;
  }
}
