import type { Config } from '@platform/config/config.js';

/** Known to the program: every start in development finds what the first one made without a look at other tenants' rows, and production knows whom to refuse. */
export const developmentOrganizationId = '00000000-0000-7000-8000-000000000001';

/** Production lets nobody in there: a database that was used in development holds credentials that were printed on a screen and lie in a folder. */
export const isClosed = (config: Pick<Config, 'production'>, organizationId: string): boolean => config.production && organizationId === developmentOrganizationId;
