import type { MigrationInterface } from 'typeorm';
import { Tenancy1764500000000 } from '@migrations/1764500000000-tenancy.js';

/** Every migration, in the order of its timestamp. A list and not a folder, so that a build holds what it was tested with. */
export const migrations: readonly (new () => MigrationInterface)[] = [Tenancy1764500000000];
