/** Known to the program: every start in development finds what the first one made without a look at other tenants' rows, and production knows whom to refuse. */
export const developmentOrganizationId = '00000000-0000-7000-8000-000000000001';
