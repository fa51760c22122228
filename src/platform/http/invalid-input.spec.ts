import { IsIn, validateSync } from 'class-validator';
import { fromValidation } from './invalid-input.js';

class Body {
  @IsIn(['read', 'write'], { each: true })
  scopes = ['admin'];
}

test('a wrong value of a list is told once', () => {
  expect(fromValidation(validateSync(new Body())).message).toBe('scopes has a wrong value: each must be one of the following values: read, write.');
});
