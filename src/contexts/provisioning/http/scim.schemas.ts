import { coreGroup, coreUser, enterpriseUser, type JsonObject } from '@domain/provisioning/attributes.js';
import { mostResults } from './scim.answers.js';

const messages = 'urn:ietf:params:scim:schemas:core:2.0';
const no = { supported: false };

export const serviceProviderConfig: JsonObject = {
  schemas: [`${messages}:ServiceProviderConfig`],
  documentationUri: 'https://www.rfc-editor.org/rfc/rfc7644',
  patch: { supported: true },
  bulk: { ...no, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: mostResults },
  changePassword: no,
  sort: no,
  etag: { supported: true },
  authenticationSchemes: [{ type: 'oauthbearertoken', name: 'Token', description: 'A SCIM token of the identity provider, sent as a bearer token.', primary: true }],
  meta: { resourceType: 'ServiceProviderConfig', location: '/scim/v2/ServiceProviderConfig' },
};

const resourceType = (id: string, endpoint: string, schema: string, extensions: JsonObject[]): JsonObject => ({
  schemas: [`${messages}:ResourceType`],
  id,
  name: id,
  endpoint,
  schema,
  schemaExtensions: extensions,
  meta: { resourceType: 'ResourceType', location: `/scim/v2/ResourceTypes/${id}` },
});

export const resourceTypes: readonly JsonObject[] = [
  resourceType('User', '/Users', coreUser, [{ schema: enterpriseUser, required: false }]),
  resourceType('Group', '/Groups', coreGroup, []),
];

const attribute = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  type: 'string',
  multiValued: false,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...more,
});
const parts = (...names: string[]): JsonObject => ({ type: 'complex', subAttributes: names.map((name) => attribute(name, name === 'primary' ? { type: 'boolean' } : {})) });
const many = (name: string, ...more: string[]): JsonObject => attribute(name, { ...parts('value', 'display', 'type', 'primary', ...more), multiValued: true });

const schema = (id: string, name: string, attributes: JsonObject[]): JsonObject => ({
  schemas: [`${messages}:Schema`],
  id,
  name,
  attributes,
  meta: { resourceType: 'Schema', location: `/scim/v2/Schemas/${id}` },
});

export const schemas: readonly JsonObject[] = [
  schema(coreUser, 'User', [
    attribute('userName', { required: true, uniqueness: 'server' }),
    attribute('name', parts('formatted', 'familyName', 'givenName', 'middleName', 'honorificPrefix', 'honorificSuffix')),
    ...['displayName', 'nickName', 'profileUrl', 'title', 'userType', 'preferredLanguage', 'locale', 'timezone'].map((name) => attribute(name)),
    attribute('active', { type: 'boolean' }),
    ...['emails', 'phoneNumbers', 'ims', 'photos', 'entitlements', 'roles', 'x509Certificates'].map((name) => many(name)),
    many('addresses', 'formatted', 'streetAddress', 'locality', 'region', 'postalCode', 'country'),
    { ...many('groups', '$ref'), mutability: 'readOnly' },
  ]),
  schema(enterpriseUser, 'EnterpriseUser', [
    ...['employeeNumber', 'costCenter', 'organization', 'division', 'department'].map((name) => attribute(name)),
    attribute('manager', parts('value', '$ref', 'displayName')),
  ]),
  schema(coreGroup, 'Group', [attribute('displayName', { required: true }), attribute('members', { ...parts('value', '$ref', 'display', 'type'), multiValued: true })]),
];
